/** Of `gateway provider test`. */
export const checkLimits = {
  callMs: 60_000, // Reasoning models answer a short question within seconds.
  bodyBytesMax: 16 * 1024 * 1024, // OpenRouter's list of models has some megabytes.
  outputTokens: 16, // The least that OpenAI accepts.
  errorCharactersMax: 300, // Of a body that is no error of the dialect, such as a proxy's page.
} as const
