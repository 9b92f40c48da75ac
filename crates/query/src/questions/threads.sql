-- Where did the time of each thread go?
-- One row a thread and cause, the largest first; what a report draws as bars.
SELECT thread_name, tid, cause, total / 1000000 AS ms, count
FROM thread_states
ORDER BY total DESC, tid, cause
