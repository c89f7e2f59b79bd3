#!/usr/bin/env -S node --max-semi-space-size=32
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describeOldNode, version } from './cli/version.ts'

const words = process.argv.slice(2)
const oldNode = describeOldNode(process.versions.node)

/** Not Node's own default below /tmp, where another user could have put compiled code. */
const compileCacheFolder = (): string =>
  process.env['NODE_COMPILE_CACHE'] || join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'model-gateway')

if (oldNode !== null) {
  console.error(oldNode)
  process.exitCode = 1
} else if (words.length === 1 && ['--version', '-V'].includes(String(words[0]))) {
  console.log(version)
} else {
  module.enableCompileCache(compileCacheFolder())
  const { runCommandLine } = await import('./cli/run.ts')
  await runCommandLine(words)
}
