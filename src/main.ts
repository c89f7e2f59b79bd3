#!/usr/bin/env -S node --max-semi-space-size=32
import { runCommandLine } from './cli/run.ts'

await runCommandLine(process.argv.slice(2))
