import type { LogLevel } from '../src/runtime/log-events.ts'

interface DocumentedEvent {
  readonly level: LogLevel
  readonly text: string
  readonly action: string
  readonly fields: readonly string[]
}

const head = `<!-- Generated from src/runtime/log-events.ts by \`make generate\`. Do not edit. -->

# Log events

The program writes one JSON object a line to standard error. Every line has \`level\` (by name), \`time\`, \`role\` (of this process;
\`gateway\` where one runs all roles or supervises, \`worker\` and \`background\` of what it supervises, \`operator\` for a command),
\`instance\` (host and process id), \`version\`, \`event\` (a code of the table below), the fields of that code, and \`msg\` (the text of the
table). A \`fault\` has \`type\`, \`message\`, \`stack\`, \`cause\`.

## Alerting

Match \`event\`, and never \`msg\`: codes are stable, texts may be reworded.

- *Page on every \`error\`*: \`level == "error"\`. Each is either a fault of the program or something that does not recover by itself.
- *Page when a condition lasts.* \`log.append_unacknowledged\`, \`projection.unavailable\`, \`projection.lagging\`, \`queue.unavailable\` and
  \`scheduler.unavailable\` are logged when the condition begins and once a minute while it lasts (\`unlogged\`: how often it recurred since the
  last line), \`rates.store_unavailable\` when it begins. The code whose row says "Ends …" is logged when it is over.
- *Alert on the rate* of \`upstream.attempt_failed\` by \`provider\`, and of \`video.vendor_failed\`: single failures are normal.

With Grafana Loki, for example:

\`\`\`logql
sum by (event, role) (count_over_time({app="gateway"} | json | level="error" [5m])) > 0
sum by (provider) (count_over_time({app="gateway"} | json | event="upstream.attempt_failed" [5m])) > 20
\`\`\`

On a shell: \`jq -c 'select(.event == "log.append_unacknowledged")' gateway.log\`.

## Codes

| event | level | meaning | operator | fields |
|---|---|---|---|---|
`

const renderRow = (event: string, { level, text, action, fields }: DocumentedEvent): string =>
  `| \`${event}\` | ${level} | ${text} | ${action} | ${fields.map((field) => `\`${field}\``).join(', ')} |\n`

export const renderLogEventsPage = (events: Readonly<Record<string, DocumentedEvent>>): string =>
  head +
  Object.entries(events)
    .map(([event, entry]) => renderRow(event, entry))
    .join('')
