import t from 'tap'
import { processFlags } from '../../src/cli/process-flags.ts'

const maximumOf = (flags: readonly string[], workers: number | null): string | undefined =>
  processFlags(flags, workers).findLast((flag) => flag.startsWith('--max'))

t.test("V8's new generation in a process of a supervisor", async (t) => {
  const program = ['--min-semi-space-size=8', '--max-semi-space-size=128']
  t.same(processFlags(program, 3), [...program, '--max-semi-space-size=16', '--semi-space-growth-factor=64'])
  for (const [flags, workers, maximum] of [
    [[], 1, 64],
    [[], 2, 32],
    [[], null, 16],
    [program, 1, 64],
    [['--max-semi-space-size=8'], 1, 8],
    [['--max_semi_space_size=4'], null, 4],
    [[...program, '--max-semi-space-size=8'], 2, 8],
    [['--max-semi-space-size=8', ...program], 2, 32],
    [['--max-semi-space-size=128'], 2, 32],
  ] as const)
    t.equal(maximumOf(flags, workers), `--max-semi-space-size=${maximum}`, `${flags.join(' ')} of ${workers}`)
})
