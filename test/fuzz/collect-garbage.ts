/** Loaded before a program: it collects its garbage whenever it is told to, so that what it holds can be measured. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')
process.on('SIGUSR2', () => collect())
