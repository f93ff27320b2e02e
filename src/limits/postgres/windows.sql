-- Both windows of the row c after what is {asked}.
(minute_closes, minute_requests, day_closes, day_requests, admitted) = (SELECT
    -- Clamped: the clock may have been set back.
    CASE WHEN c.minute_closes > now THEN least(c.minute_closes, now + 60000000)
         WHEN given > 0 THEN now + 60000000 ELSE c.minute_closes END,
    minute_used + given,
    CASE WHEN c.day_closes > now THEN least(c.day_closes, now + 86400000000)
         WHEN given > 0 THEN now + 86400000000 ELSE c.day_closes END,
    day_used + given, given
    FROM (SELECT (SELECT now FROM clock) AS now) n,
    LATERAL (SELECT CASE WHEN c.minute_closes > now THEN c.minute_requests ELSE 0 END
                        AS minute_used,
                    CASE WHEN c.day_closes > now THEN c.day_requests ELSE 0 END AS day_used) u,
    LATERAL (SELECT greatest(0, least({asked}.admitted, {asked}.per_minute - minute_used,
                                      {asked}.per_day - day_used)) AS given) g)
