-- How do recordings differ by cause?
-- Ask of several recordings: a column each, and one row a cause.
SELECT cause, recording, sum(total) / 1000000 AS ms
FROM thread_states
GROUP BY cause, recording
ORDER BY cause, recording
