# Cancels the orders whose ids are arguments: sh cancel.sh 1042 1043
set -eu
body=$(mktemp)
trap 'rm -f "$body"' EXIT
for id; do
    # Sends again what got no response, and after Retry-After what is answered with 429 or 5xx. Ends
    # if that is in more than 2 minutes: a ban, or the requests of the day are used up.
    status=$(curl -sS --retry 4 --retry-all-errors --retry-max-time 120 --max-time 10 \
        -X DELETE -H "Authorization: Bearer $API_KEY" \
        -o "$body" -w '%{http_code}' "$BASE_URL/store/orders/$id")
    case $status:$(cat "$body") in
        204:*) echo "order $id: cancelled" ;;
        # 404: it is not there any more. An earlier attempt may have cancelled it.
        404:*'"order_not_found"'* | 409:*) printf 'order %s: %s\n' "$id" "$(cat "$body")" ;;
        *) printf 'order %s: %s\n' "$id" "$(cat "$body")" >&2; exit 1 ;;
    esac
done
