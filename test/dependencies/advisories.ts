import { asArray, asObject, asText, isObject, parseJson } from '../../src/encoding/json.ts'

/** `unavailable`: nobody told, and why; that is no word on any package. */
export type Advisories =
  | { readonly type: 'told'; readonly packages: number; readonly findings: readonly string[] }
  | { readonly type: 'unavailable'; readonly why: string }

const severities = ['high', 'critical']

const titleOf = (via: unknown): readonly string[] => {
  const { title, url } = asObject(via)
  return title === undefined ? [] : [`${asText(title)} (${asText(url)})`]
}

const findingOf = ([name, value]: readonly [string, unknown]): readonly string[] => {
  const { severity, range, via } = asObject(value)
  if (!severities.includes(asText(severity))) return []
  return [`${name} ${asText(range)}: ${asText(severity)} ${asArray(via).flatMap(titleOf).join('; ')}`.trim()]
}

/** What `npm audit --json` says. */
export const advisoriesIn = (output: string): Advisories => {
  const report = asObject(parseJson(output))
  const { vulnerabilities, metadata, message } = report
  if (!isObject(vulnerabilities)) return { type: 'unavailable', why: asText(message) || 'npm audit gave no report' }
  return {
    type: 'told',
    packages: Number(asObject(asObject(metadata)['dependencies'])['prod'] ?? 0),
    findings: Object.entries(vulnerabilities).flatMap(findingOf),
  }
}
