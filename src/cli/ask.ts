import { createInterface } from 'node:readline/promises'

export const askYes = async (question: string): Promise<boolean> => {
  process.stderr.write(`${question} [y/N] `)
  for await (const line of createInterface({ input: process.stdin })) return /^y(es)?$/i.test(line.trim())
  return false
}
