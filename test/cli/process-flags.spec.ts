import t from 'tap'
import { newGenerationMegabytes, processFlags } from '../../src/cli/process-flags.ts'

const maximumOf = (flags: readonly string[], megabytes: number): string | undefined =>
  processFlags(flags, megabytes).findLast((flag) => flag.startsWith('--max'))

t.test("V8's new generation in a process of a supervisor", async (t) => {
  const program = ['--min-semi-space-size=8', '--max-semi-space-size=64']
  t.same(processFlags(program, newGenerationMegabytes / 3), [
    ...program,
    '--max-semi-space-size=16',
    '--semi-space-growth-factor=64',
  ])
  for (const [flags, megabytes, maximum] of [
    [[], 64, 64],
    [[], 32, 32],
    [[], 0, 16],
    [program, 64, 64],
    [['--max-semi-space-size=8'], 64, 8],
    [['--max_semi_space_size=4'], 0, 4],
    [[...program, '--max-semi-space-size=8'], 32, 8],
    [['--max-semi-space-size=8', ...program], 32, 32],
    [['--max-semi-space-size=128'], 32, 32],
  ] as const)
    t.equal(maximumOf(flags, megabytes), `--max-semi-space-size=${maximum}`, `${flags.join(' ')} of ${megabytes}`)
})
