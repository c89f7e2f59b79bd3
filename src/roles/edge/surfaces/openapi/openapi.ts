import { hash } from 'node:crypto'
import { readSchema } from '../../../../encoding/schema-validation.ts'
import type { EdgeMiddleware } from '../../middleware/context.ts'
import { openapiDocumentOf } from '../../openapi/document.ts'
import { operations } from '../../openapi/operations.ts'

export const openapiDocument = () => openapiDocumentOf(operations, readSchema)

const cacheControl = 'public, max-age=300'

/** GET /openapi.json, made once. */
export const showOpenapi = (): EdgeMiddleware => {
  const text = JSON.stringify(openapiDocument())
  const tag = hash('sha256', text).slice(0, 32)
  return (ctx) => {
    ctx.set('Cache-Control', cacheControl)
    ctx.set('Content-Type', 'application/json')
    ctx.etag = tag
    ctx.status = 200
    if (ctx.fresh) ctx.status = 304
    else ctx.body = text
  }
}
