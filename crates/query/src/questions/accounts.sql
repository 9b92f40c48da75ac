-- Does the CPU time agree with the kernel's own account?
-- Threads whose snapshots cover their whole life; the difference should be below a percent.
SELECT t.thread_name, t.tid, n.sched_cpu AS kernel_ns, t.cpu AS culprit_ns,
  t.cpu - n.sched_cpu AS difference
FROM thread_times t
JOIN threads n ON n.recording = t.recording AND n.id = t.thread
WHERE n.sched_cpu IS NOT NULL
ORDER BY n.sched_cpu DESC, t.tid
