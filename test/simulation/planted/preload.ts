import { plant } from './plant.ts'

plant(process.env['PLANTED'] ?? '')
