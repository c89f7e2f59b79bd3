import { runTogether } from '../run-together.ts'

await runTogether('roles/edge', { part: 0, of: 3 })
