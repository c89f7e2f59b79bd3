#!/usr/bin/env -S node --min-semi-space-size=8 --max-semi-space-size=128
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import v8 from 'node:v8'
import { describeOldNode, version } from './cli/version.ts'

const words = process.argv.slice(2)
const oldNode = describeOldNode(process.versions.node)

/**
 * By default V8 collects the whole heap for every 64 MB of buffers, however soon they die, and marks for 5 ms at each buffer
 * meanwhile: of large bodies and answers that was half of the CPU.
 */
const countBuffersWithHeap = (): void => {
  const isKnown = Number.parseInt(process.versions.node, 10) >= 24
  if (isKnown) v8.setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/** V8's new generation stays as small as it was started, but where clients are served: `serve` has it grow. */
const keepNewGeneration = (): void => {
  const name = '--semi-space-growth-factor'
  const has = (flag: string): boolean => process.execArgv.some((each) => each.startsWith(flag))
  if (has('--min-semi-space-size') && !has(name)) v8.setFlagsFromString(`${name}=1`)
}

/** Not Node's own default below /tmp, where another user could have put compiled code. */
const compileCacheFolder = (): string =>
  process.env['NODE_COMPILE_CACHE'] || join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'model-gateway')

if (oldNode !== null) {
  console.error(oldNode)
  process.exitCode = 1
} else if (words.length === 1 && ['--version', '-V'].includes(String(words[0]))) {
  console.log(version)
} else {
  countBuffersWithHeap()
  keepNewGeneration()
  module.enableCompileCache(compileCacheFolder())
  const { runCommandLine } = await import('./cli/run.ts')
  await runCommandLine(words)
}
