-- A frame with its name as every view of culprit shows it.
--
-- recording text: The recording.
-- frame uint32 (row of frames): The frame.
-- name text: `module!function`; the function alone where the module is unknown, `?!?` where both
--   are.
-- module text: Short name of its module; none when unknown.
-- function text: Its function; `?` without a symbol.
-- file text: Source file, if known.
-- line uint32: Line in it, if known.
-- inlined boolean: True when it was inlined into the next frame towards the root.
SELECT
  f.recording,
  f.id AS frame,
  CASE
    WHEN m.name IS NOT NULL THEN concat(m.name, '!', f.function)
    WHEN f.function = '?' THEN '?!?'
    ELSE f.function
  END AS name,
  m.name AS module,
  f.function,
  f.file,
  f.line,
  f.inlined
FROM frames f
LEFT JOIN modules m ON m.recording = f.recording AND m.id = f.module
