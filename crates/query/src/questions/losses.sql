-- Is anything missing of these recordings?
-- Sums over a recording with lost switches are too small.
SELECT recording, kind, sum(count) AS count, min(detail) AS first_detail
FROM losses
GROUP BY recording, kind
ORDER BY recording, kind
