import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import t from 'tap'
import { instanceOf } from '../../../sandbox/answers/json-instance.ts'

const schemas: { readonly [name: string]: object } = {
  'nothing said': {},
  'every type': {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 12, maxLength: 20 },
      day: { type: 'string', format: 'date' },
      count: { type: 'integer', minimum: 3, multipleOf: 5 },
      share: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      below: { type: 'integer', maximum: -4 },
      sure: { type: 'boolean' },
      nothing: { type: 'null' },
      maybe: { type: ['null', 'string'] },
      list: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 3 },
      fixed: { const: 7 },
    },
    required: ['text', 'day', 'count', 'share', 'below', 'sure', 'nothing', 'maybe', 'list', 'fixed'],
    additionalProperties: false,
  },
  'all of': {
    allOf: [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, { required: ['a'] }],
  },
  'any of': { anyOf: [{ type: 'integer' }, { type: 'string' }] },
  'a tree': {
    $defs: {
      node: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
          children: { type: 'array', items: { $ref: '#/$defs/node' } },
        },
        required: ['name', 'next', 'children'],
        additionalProperties: false,
      },
    },
    $ref: '#/$defs/node',
  },
  itself: {
    type: 'object',
    properties: { child: { $ref: '#' }, id: { type: 'string', format: 'uuid' } },
    required: ['id'],
  },
}

t.test('instances satisfy their schemas', async (t) => {
  const ajv = new Ajv2020({ strict: false, formats: fullFormats })
  for (const [name, schema] of Object.entries(schemas)) {
    const instance = instanceOf(schema)
    t.ok(ajv.validate(schema, instance), `${name}: ${JSON.stringify(instance).slice(0, 300)} ${ajv.errorsText()}`)
  }
})

t.test('a schema that never ends has an instance all the same', async (t) => {
  t.type(instanceOf({ type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] }), 'object')
})
