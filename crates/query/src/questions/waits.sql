-- What did the threads wait for, and how long each time?
-- Many short waits of one cause and few long ones need different cures.
SELECT cause, waits, mean / 1000 AS mean_us, longest / 1000 AS longest_us, round(share, 3) AS share
FROM blocked_by_cause
ORDER BY total DESC
