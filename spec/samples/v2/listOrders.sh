# Prints the pages of the pending orders of pet 7: sh list.sh
set -eu
page=$(mktemp)
trap 'rm -f "$page"' EXIT
cursor=
while :; do
    curl -sS --fail-with-body --compressed --retry 4 --retry-max-time 120 -o "$page" \
        -H "Authorization: Bearer $API_KEY" -G "$BASE_URL/store/orders" \
        -d petId=7 -d status=pending ${cursor:+-d "cursor=$cursor"} || { cat "$page" >&2; exit 1; }
    printf '%s\n' "$(cat "$page")"
    # A page without orders may have one, too.
    cursor=$(sed -n 's/.*"nextCursor":"\([^"]*\)".*/\1/p' "$page")
    [ -n "$cursor" ] || break
done
