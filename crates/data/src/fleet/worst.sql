-- The dearest finding of each rule and place; of equal ones that of the first file.
--
-- rule text: Identifier of the rule.
-- module text: Module of the function that it names.
-- named_function text: The function.
-- file text: Its source file, if known.
-- recording text: The recording's file.
-- document text: The finding as JSON.
WITH ranked AS (
  SELECT
    f.rule,
    f.module,
    f.function AS named_function,
    f.file,
    f.recording,
    f.document,
    row_number() OVER (
      PARTITION BY f.rule, f.module, f.function, f.file
      ORDER BY f.cost DESC, f.recording, f.day, f.host, f.document
    ) AS place_in_order
  FROM fleet_findings f
  WHERE f.every = :every
)
SELECT rule, module, named_function, file, recording, document
FROM ranked
WHERE place_in_order = 1
ORDER BY rule, module, named_function, file
