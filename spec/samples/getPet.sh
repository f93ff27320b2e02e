curl -sS --fail-with-body \
    -H "Authorization: Bearer $API_KEY" "$BASE_URL/pets/7"
