import { runTogether } from '../run-together.ts'

await runTogether('roles/proxy')
