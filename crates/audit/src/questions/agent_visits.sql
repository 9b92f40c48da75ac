-- User agents with their interactions.
--
-- ua_id bigint: Key.
-- text text: As the source has it.
-- interactions bigint: Interactions.
WITH counted AS (
  SELECT ua_id, count(*) AS interactions FROM interactions WHERE ua_id IS NOT NULL GROUP BY ua_id
)
SELECT u.ua_id, u.text, c.interactions
FROM counted c
JOIN user_agents u ON c.ua_id = u.ua_id
