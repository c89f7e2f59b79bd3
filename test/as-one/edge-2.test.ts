import { runTogether } from '../run-together.ts'

await runTogether('roles/edge', { part: 1, of: 3 })
