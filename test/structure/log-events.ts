/** Codes of the catalogue that no source logs. The compiler refuses the opposite: a code that is logged and not listed. */
export const findUnusedLogEvents = (events: readonly string[], sources: readonly string[]): readonly string[] =>
  events
    .filter((event) => !sources.some((source) => source.includes(`'${event}'`)))
    .map((event) => `log event ${event} is listed in src/runtime/log-events.ts and never logged`)
