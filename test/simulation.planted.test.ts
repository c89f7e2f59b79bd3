import { runSpecs } from './support/run-specs.ts'

await runSpecs(import.meta.url)
