import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
  readonly engines: { readonly node: string }
}

export const { version } = manifest

const oldestNode = manifest.engines.node.replace('>=', '')

const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)

/** Null where the program runs on that version of Node, else what to print. */
export const describeOldNode = (nodeVersion: string): string | null => {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null
  return `gateway ${version} needs Node ${oldestNode} or later, and this is Node ${nodeVersion}`
}
