-- A wakeup with names: who made whom ready, and where the waker was. One row a wakeup. `wakeups` may
-- have two rows of one: the thread was about to be woken, and it entered a run queue. If it did not run
-- in between, this view has the first of them.
--
-- recording text: The recording.
-- time bigint (ns since the recording's start): When.
-- thread uint32 (row of threads): The thread that was made ready.
-- thread_name text: Its name.
-- tid uint32 (kernel tid): Its kernel number.
-- source text: What kind of event did it.
-- waker uint32 (row of threads): The thread that did it; none for interrupts.
-- waker_name text: Its name.
-- waker_tid uint32 (kernel tid): Its kernel number.
-- waker_process text: Its process's name.
-- waker_at text: Where it was, `module!function`; none if wakeups have no stacks.
WITH steps AS (
  SELECT
    recording,
    thread,
    time,
    source,
    waker,
    waker_stack,
    CASE WHEN kind = 'waking' THEN 0 ELSE 1 END AS step
  FROM wakeups
  UNION ALL
  SELECT recording, thread, start AS time, woken_by AS source, waker, waker_stack, 2 AS step
  FROM intervals
  WHERE cause LIKE 'cpu.%'
),
beside AS (
  SELECT *, lag(step) OVER (PARTITION BY recording, thread ORDER BY time, step) AS before
  FROM steps
)
SELECT
  k.recording,
  k.time,
  k.thread,
  t.thread_name,
  t.tid,
  k.source,
  k.waker,
  w.thread_name AS waker_name,
  w.tid AS waker_tid,
  w.process_name AS waker_process,
  l.name AS waker_at
FROM beside k
JOIN thread_names t ON t.recording = k.recording AND t.thread = k.thread
LEFT JOIN thread_names w ON w.recording = k.recording AND w.thread = k.waker
LEFT JOIN leaf_names l ON l.recording = k.recording AND l.stack = k.waker_stack
WHERE k.step = 0 OR (k.step = 1 AND k.before IS DISTINCT FROM 0)
