import t from 'tap'
import { readTags } from '../../../../src/roles/edge/http/attribute-request.ts'

const names = new Set(['team', 'env', ...Array.from({ length: 12 }, (_, index) => `n${index}`)])
const read = (header: string | undefined, body: object = {}) =>
  readTags(header === undefined ? {} : { 'x-gateway-tags': header }, { ...body }, names)

t.test('header and metadata', async (t) => {
  const rows: readonly (readonly [header: string | undefined, body: object, tags: object])[] = [
    [undefined, {}, {}],
    ['team=search,env=prod', {}, { team: 'search', env: 'prod' }],
    [' team = search , env=a=b ', {}, { team: 'search', env: 'a=b' }],
    [undefined, { metadata: { team: 'search', order: '7' } }, { team: 'search' }],
    [undefined, { metadata: { toString: 'x', constructor: 'y' } }, {}],
    ['env=prod', { metadata: { team: 'search', env: 'test' } }, { team: 'search', env: 'prod' }],
    [undefined, { metadata: 'none' }, {}],
    [`team=${'x'.repeat(64)}`, {}, { team: 'x'.repeat(64) }],
  ]
  for (const [header, body, tags] of rows) t.same(read(header, body), tags, `${header} ${JSON.stringify(body)}`)
})

t.test('what is refused, and why', async (t) => {
  const rows: readonly (readonly [header: string | undefined, body: object, param: string, message: RegExp])[] = [
    ['team', {}, 'X-Gateway-Tags', /such as `team=search,env=prod`, got `team`/],
    ['', {}, 'X-Gateway-Tags', /such as/],
    ['=x', {}, 'X-Gateway-Tags', /such as/],
    ['cost-center=4', {}, 'X-Gateway-Tags', /the tag `cost-center`, which is not configured/],
    ['__proto__=4', {}, 'X-Gateway-Tags', /`__proto__`, which is not configured/],
    ['team=a,team=b', {}, 'X-Gateway-Tags', /the tag `team` twice/],
    ['team=', {}, 'X-Gateway-Tags', /`team` must be a text of 1 to 64 characters, got 0 characters/],
    [`team=${'x'.repeat(65)}`, {}, 'X-Gateway-Tags', /got 65 characters/],
    [undefined, { metadata: { team: 7 } }, 'metadata.team', /got number/],
    [undefined, { metadata: { team: 'a\nb' } }, 'metadata.team', /control characters/],
    [Array.from({ length: 11 }, (_, index) => `n${index}=x`).join(), {}, 'X-Gateway-Tags', /10 tags, got 11/],
  ]
  for (const [header, body, param, message] of rows)
    t.throws(() => read(header, body), { code: 'invalid_value', param, message }, `${header} ${JSON.stringify(body)}`)
})
