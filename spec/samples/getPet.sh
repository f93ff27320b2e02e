curl -fsS --retry 4 --retry-max-time 120 \
    -H "Authorization: Bearer $API_KEY" "$BASE_URL/pets/7"
