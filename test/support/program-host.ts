/** The program, for one command after another. Ends with the test that started it. */
import { runCommandLine } from '../../src/cli/run.ts'
import { endOfOutput, type Wanted } from './program.ts'

process.once('disconnect', () => process.exit())

process.on('message', async ({ folder, words }: Wanted) => {
  process.chdir(folder)
  process.exitCode = undefined
  await runCommandLine(words)
  const code = Number(process.exitCode ?? 0)
  process.stdout.write(endOfOutput)
  process.stderr.write(endOfOutput)
  process.send?.(code)
})
