import { isObject, listOf, objectOf, parseJson, textOf } from '../../src/json.ts'

/** `unavailable`: nobody told, and why; that is no word on any package. */
export type Advisories =
  | { readonly type: 'told'; readonly packages: number; readonly findings: readonly string[] }
  | { readonly type: 'unavailable'; readonly why: string }

const severities = ['high', 'critical']

const titleOf = (via: unknown): readonly string[] => {
  const { title, url } = objectOf(via)
  return title === undefined ? [] : [`${textOf(title)} (${textOf(url)})`]
}

const findingOf = ([name, value]: readonly [string, unknown]): readonly string[] => {
  const { severity, range, via } = objectOf(value)
  if (!severities.includes(textOf(severity))) return []
  return [`${name} ${textOf(range)}: ${textOf(severity)} ${listOf(via).flatMap(titleOf).join('; ')}`.trim()]
}

/** What `npm audit --json` says. */
export const advisoriesIn = (output: string): Advisories => {
  const report = objectOf(parseJson(output))
  const { vulnerabilities, metadata, message } = report
  if (!isObject(vulnerabilities)) return { type: 'unavailable', why: textOf(message) || 'npm audit gave no report' }
  return {
    type: 'told',
    packages: Number(objectOf(objectOf(metadata)['dependencies'])['prod'] ?? 0),
    findings: Object.entries(vulnerabilities).flatMap(findingOf),
  }
}
