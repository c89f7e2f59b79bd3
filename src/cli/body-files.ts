import { readFileSync } from 'node:fs'
import type { MemberFile } from '../administration/operation.ts'
import { readPriceFile } from '../config/price-file.ts'
import { isProviderName } from '../domain/pricing/litellm.ts'
import { isObject, type JsonObject } from '../encoding/json.ts'
import { faultText } from '../errors/gateway-error.ts'
import { UsageError } from './report.ts'

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${faultText(cause)}`, { cause })
  }
}

const readLiteLlmTable = (file: string): JsonObject => {
  const table = readJson(file)
  if (!isObject(table)) throw new UsageError(`${file} is no JSON object, as LiteLLM's table is`)
  if (!Object.values(table).some(isProviderName))
    throw new UsageError(
      `${file} holds no price: no member of it names its litellm_provider, as rows of LiteLLM's table do`,
    )
  return table
}

/** What a file has for a member of a body. Each throws UsageError or ConfigError. */
export const bodyFiles: { readonly [F in MemberFile]: (file: string) => unknown } = {
  json: readJson,
  'litellm-table': readLiteLlmTable,
  'price-file': (file) => readPriceFile(file).prices,
}
