# Prints the pages of the pending orders of pet 7: sh list.sh
set -eu
cursor=
while :; do
    page=$(curl -fsS --compressed --retry 4 --retry-max-time 120 \
        -H "Authorization: Bearer $API_KEY" -G "$BASE_URL/store/orders" \
        -d petId=7 -d status=pending ${cursor:+-d "cursor=$cursor"})
    printf '%s\n' "$page"
    # A page without orders may have one, too.
    cursor=$(printf '%s\n' "$page" | sed -n 's/.*"nextCursor":"\([^"]*\)".*/\1/p')
    [ -n "$cursor" ] || break
done
