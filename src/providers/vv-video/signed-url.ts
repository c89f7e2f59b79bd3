type Parameters = ReadonlyMap<string, string>

const secondsDigitsMax = 11

/** Seconds since the epoch, or milliseconds where there are too many digits; null where it is no such number. */
const instantMs = (text: string | undefined): number | null => {
  if (text === undefined || !/^\d{9,14}$/.test(text)) return null
  return text.length > secondsDigitsMax ? Number(text) : Number(text) * 1_000
}

const hexInstantMs = (text: string | undefined): number | null =>
  text !== undefined && /^[0-9a-f]{8}$/i.test(text) ? Number.parseInt(text, 16) * 1_000 : null

/** `20260131T120000Z`, as well as what Date reads. */
const dateMs = (text: string | undefined): number | null => {
  const spaced = (text ?? '').replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const ms = Date.parse(spaced)
  return /^\d{4}-/.test(spaced) && !Number.isNaN(ms) ? ms : null
}

const lifetimeMs = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,8}$/.test(text) ? Number(text) * 1_000 : null

const dated = (parameters: Parameters, vendor: string): number | null => {
  const expires = parameters.get(`x-${vendor}-expires`)
  const sinceMs = dateMs(parameters.get(`x-${vendor}-date`))
  const forMs = lifetimeMs(expires)
  return sinceMs === null || forMs === null ? instantMs(expires) : sinceMs + forMs
}

const instantNames = ['expires', 'expire', 'exp', 'x-expires']
const rangeNames = ['q-sign-time', 'q-key-time']
const hexNames = ['wstime', 'txtime']
const datedVendors = ['amz', 'goog', 'oss', 'tos', 'obs', 'cos', 'bce']

const endsIn = (parameters: Parameters): readonly (number | null)[] => [
  ...instantNames.map((name) => instantMs(parameters.get(name))),
  ...rangeNames.map((name) => instantMs(parameters.get(name)?.split(';')[1])),
  ...hexNames.map((name) => hexInstantMs(parameters.get(name))),
  ...datedVendors.map((vendor) => dated(parameters, vendor)),
  instantMs(parameters.get('auth_key')?.split('-')[0]),
  dateMs(parameters.get('se')),
]

/** By `Expires`, `X-Amz-Date` and `X-Amz-Expires`, `x-oss-expires`, `auth_key`, `se` and similar; false without any. */
export const isExpired = (url: string, nowMs: number): boolean => {
  const query = URL.parse(url)?.searchParams ?? []
  const parameters = new Map([...query].map(([name, value]) => [name.toLowerCase(), value]))
  return endsIn(parameters).some((endMs) => endMs !== null && endMs <= nowMs)
}
