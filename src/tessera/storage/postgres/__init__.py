"""The store on PostgreSQL: any number of processes on one database. (docs/decisions/0029, 0030)"""
