/** What a process exports at one scrape. */
export interface Scrape {
  /** Of every metric, also of those without a sample. */
  readonly names: ReadonlySet<string>
  readonly text: string
  /** Of the sample with exactly these labels, however ordered; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
  /** By their labels: `surface=chat,status=2xx`. */
  values(name: string): Readonly<Record<string, number>>
}

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(',')

const sampleLine = /^(\w+)(?:\{(.*)\})? (\S+)$/
const labelPair = /(\w+)="([^"]*)"/g

export const scrape = async (observeUrl: string | null): Promise<Scrape> => {
  const text = await (await fetch(`${observeUrl}/metrics`)).text()
  const samples = new Map<string, Map<string, number>>()
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = sampleLine.exec(line) ?? []
    if (name === undefined) continue
    const key = keyOf(Object.fromEntries([...labels.matchAll(labelPair)].map(([, label, of]) => [label!, of!])))
    if (!samples.has(name)) samples.set(name, new Map())
    samples.get(name)!.set(key, Number(value))
  }
  return {
    text,
    names: new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)),
    value: (name, labels = {}) => samples.get(name)?.get(keyOf(labels)),
    values: (name) => Object.fromEntries(samples.get(name) ?? []),
  }
}

export interface Health {
  readonly httpStatus: number
  readonly status: string
  readonly role: string
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly reason?: string }>>
}

export const healthAt = async (observeUrl: string | null, path: '/healthz' | '/readyz'): Promise<Health> => {
  const response = await fetch(`${observeUrl}${path}`)
  return { httpStatus: response.status, ...((await response.json()) as Omit<Health, 'httpStatus'>) }
}

/** What is checked and is not as it must be. */
export const failing = ({ checks }: Health): readonly string[] =>
  Object.entries(checks)
    .filter(([, { ok }]) => !ok)
    .map(([name]) => name)
    .sort()
