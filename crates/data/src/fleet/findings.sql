-- What findings of one rule and place cost in each group. Several findings of one recording are one
-- recording's.
--
-- rule text: Identifier of the rule.
-- module text: Module of the function that it names.
-- named_function text: The function.
-- file text: Its source file, if known.
-- group_name text: The group.
-- cost bigint (ns): What they cost.
-- recordings bigint: Recordings that have it.
WITH of_recordings AS (
  SELECT
    f.rule,
    f.module,
    f.function AS named_function,
    f.file,
    :finding_group AS group_name,
    f.day,
    f.host,
    f.recording,
    f.cost
  FROM fleet_findings f
  WHERE f.every = :every
),
sums AS (
  SELECT rule, module, named_function, file, group_name, day, host, recording, sum(cost) AS cost
  FROM of_recordings
  GROUP BY rule, module, named_function, file, group_name, day, host, recording
)
SELECT
  rule,
  module,
  named_function,
  file,
  group_name,
  sum(cost) AS cost,
  count(*) AS recordings
FROM sums
GROUP BY rule, module, named_function, file, group_name
ORDER BY rule, module, named_function, file, group_name
