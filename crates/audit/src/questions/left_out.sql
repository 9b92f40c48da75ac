-- Rows that labels leave out of reports, by what they are.
--
-- entity varchar: `interaction` or `contact`.
-- labelled bigint: Distinct rows with such a label.
SELECT entity, count(DISTINCT id) AS labelled
FROM labels
WHERE label = 'excluded'
GROUP BY entity
