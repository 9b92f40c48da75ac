-- User agents.
--
-- ua_id bigint: Key.
-- text text: As the source has it.
SELECT ua_id, text FROM user_agents
