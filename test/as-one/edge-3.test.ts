import { runTogether } from '../run-together.ts'

await runTogether('roles/edge', { part: 2, of: 3 })
