curl -sS --fail-with-body --compressed \
    -H "Authorization: Bearer $API_KEY" "$BASE_URL/store/orders"
