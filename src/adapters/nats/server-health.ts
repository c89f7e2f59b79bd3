export interface ServerHealth {
  readonly status: unknown
  readonly error: string | null
}

/** `/healthz` of the monitoring port; null when it does not answer in time. */
export const serverHealth = async (monitoringUrl: string, timeoutMs: number): Promise<ServerHealth | null> => {
  try {
    const url = new URL('/healthz', monitoringUrl)
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    const { status, error } = (await response.json()) as { readonly status?: unknown; readonly error?: unknown }
    return { status, error: typeof error === 'string' ? error : null }
  } catch {
    return null // Not listening yet, overloaded, or down.
  }
}
