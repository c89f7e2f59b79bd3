#!/usr/bin/env -S node --max-semi-space-size=32
import { run } from './commands/run.ts'

await run(process.argv.slice(2))
