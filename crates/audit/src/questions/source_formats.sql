-- What a store was imported from.
--
-- format text: A format, as `--from` names it.
SELECT DISTINCT format FROM sources
