#!/bin/sh
# Run once by PostgreSQL's image, after postgres.sql: the roles' passwords.
set -eu
for role in projector edge video_poller scheduler operator; do
  eval "password=\$GATEWAY_$(echo "$role" | tr '[:lower:]' '[:upper:]')_PASSWORD"
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" -c "alter role gateway_$role password '$password'"
done
