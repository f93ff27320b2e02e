curl -sS --fail-with-body \
    -H "Authorization: Bearer $API_KEY" "$BASE_URL/store/orders/1042"
