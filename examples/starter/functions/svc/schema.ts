import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  tasks: defineTable({text: v.string(), done: v.boolean()}).index('by_done', ['done']),
});
