-- Who ends the waits for locks?
-- The thread that wakes the waiters had the lock: what it does with it is the place to look at.
SELECT waker_name, waker_tid, count(*) AS threads, sum(waits) AS waits, sum(total) / 1000000 AS ms
FROM waits_by_waker
WHERE cause = 'blocked.lock'
GROUP BY waker_name, waker_tid
ORDER BY ms DESC
